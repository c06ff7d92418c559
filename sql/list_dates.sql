-- The first and last date that the source has recommendations for.
SELECT
    min(ds) AS first_date,
    max(ds) AS last_date
FROM source.recommendations
