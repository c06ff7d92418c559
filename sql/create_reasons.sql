-- The live reasons of every date: what an application reads.
CREATE OR REPLACE VIEW reasons AS
WITH live AS (
    SELECT *
    FROM publications
    WHERE withdrawn_at IS NULL
    QUALIFY row_number() OVER (PARTITION BY ds ORDER BY publication_id DESC) = 1
)

SELECT
    published.recommended_item_id,
    published.reason_item_id,
    published.text,
    live.ds,
    published.p_skip,
    published.model,
    published.prompt,
    live.run_key,
    published.generated_at,
    live.published_at
FROM published_reasons AS published
INNER JOIN live ON published.publication_id = live.publication_id
