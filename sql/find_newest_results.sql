-- When the newest result of each file was finished.
SELECT
    filename,
    max(finished_at) AS newest
FROM read_parquet($files, filename := true)
GROUP BY filename
