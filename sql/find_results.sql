-- The newest stored result of each wanted key.
SELECT results.*
FROM read_parquet($files, union_by_name := true) AS results
SEMI JOIN wanted ON results.key = wanted.key
WHERE results.finished_at >= $oldest
QUALIFY row_number() OVER (PARTITION BY results.key ORDER BY results.finished_at DESC) = 1
