-- Which baskets of the dates from $first_date to before $ds each item stood in: one row an item, with its name and the
-- baskets' numbers, counted from 0. An item that stands in a basket twice counts once.
WITH contents AS (
    SELECT DISTINCT
        dense_rank() OVER (ORDER BY ds, basket_id) - 1 AS basket,
        item_id
    FROM source.baskets
    WHERE
        ds >= $first_date AND ds < $ds
        AND basket_id IS NOT NULL AND item_id IS NOT NULL
),

items AS (
    SELECT
        item_id,
        min(item_name) AS item_name
    FROM source.items
    GROUP BY item_id
)

SELECT
    contents.item_id,
    any_value(items.item_name) AS item_name,
    list(contents.basket ORDER BY contents.basket) AS baskets
FROM contents
LEFT JOIN items ON contents.item_id = items.item_id
GROUP BY contents.item_id
ORDER BY contents.item_id
