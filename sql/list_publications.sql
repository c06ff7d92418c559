-- The publications that still have their reasons. `kept`: the live one of each date and the one before it, which a
-- rollback brings back, and whatever was published since $oldest.
WITH ranked AS (
    SELECT
        publication_id,
        ds,
        run_key,
        reason_count,
        published_at,
        withdrawn_at IS NULL AND row_number() OVER (
            PARTITION BY ds, withdrawn_at IS NULL
            ORDER BY publication_id DESC
        ) <= 2 AS is_last
    FROM publications
)

SELECT
    publication_id,
    ds,
    run_key,
    reason_count,
    is_last OR published_at >= $oldest AS kept
FROM ranked
WHERE is_last OR publication_id IN (SELECT published.publication_id FROM published_reasons AS published)
ORDER BY publication_id
