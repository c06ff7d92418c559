-- The candidate pairs of one date: one row per (recommended item, reason item).
--
-- A shop whose tables look different edits this statement; the columns it returns are the contract:
--   recommended_item_id BIGINT, reason_item_id BIGINT, recommended_item VARCHAR, recommended_scate VARCHAR,
--   reason_item VARCHAR, reason_scate VARCHAR, basket VARCHAR[] (names, reason item first), score DOUBLE
-- Names may be missing or strange: they are cleaned afterwards.
WITH items AS (
    -- One name an item, should the shop list an item twice: a join must not make two candidates of one.
    SELECT
        item_id,
        min(item_name) AS item_name,
        min(scate) AS scate
    FROM source.items
    GROUP BY item_id
),

best AS (
    SELECT
        basket_id,
        recommended_item_id,
        reason_item_id,
        score
    FROM source.recommendations
    WHERE ds = $ds
    QUALIFY row_number() OVER (
        PARTITION BY recommended_item_id, reason_item_id
        ORDER BY score DESC NULLS LAST, basket_id ASC
    ) = 1
),

baskets AS (
    SELECT
        basket.basket_id,
        list(struct_pack(
            item_id := basket.item_id,
            item_name := items.item_name
        ) ORDER BY basket.position, basket.item_id) AS contents
    FROM source.baskets AS basket
    LEFT JOIN items ON basket.item_id = items.item_id
    WHERE basket.ds = $ds
    GROUP BY basket.basket_id
)

SELECT
    best.recommended_item_id,
    best.reason_item_id,
    recommended.item_name AS recommended_item,
    recommended.scate AS recommended_scate,
    reason.item_name AS reason_item,
    reason.scate AS reason_scate,
    list_prepend(
        reason.item_name,
        list_transform(
            list_filter(
                coalesce(baskets.contents, []),
                lambda item: item.item_id != best.reason_item_id
            ),
            lambda item: item.item_name
        )
    ) AS basket,
    best.score
FROM best
LEFT JOIN baskets ON best.basket_id = baskets.basket_id
LEFT JOIN items AS recommended ON best.recommended_item_id = recommended.item_id
LEFT JOIN items AS reason ON best.reason_item_id = reason.item_id
ORDER BY best.recommended_item_id, best.reason_item_id
