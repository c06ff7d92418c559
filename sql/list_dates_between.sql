-- The dates of a range, both ends among them, that the source has recommendations for.
SELECT DISTINCT CAST(ds AS DATE) AS ds
FROM source.recommendations
WHERE ds BETWEEN $first_date AND $last_date
ORDER BY ds
