-- The live publication of every date that has one.
SELECT
    ds,
    run_key,
    publication_id
FROM publications
WHERE withdrawn_at IS NULL
QUALIFY row_number() OVER (PARTITION BY ds ORDER BY publication_id DESC) = 1
