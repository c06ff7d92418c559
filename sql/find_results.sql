-- The columns that match a pattern, of every stored result of the wanted keys, from a moment on.
SELECT COLUMNS($columns)
FROM read_parquet($files, union_by_name := true) AS results
SEMI JOIN wanted ON results.key = wanted.key
WHERE results.finished_at >= $oldest
