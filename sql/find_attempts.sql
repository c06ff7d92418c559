-- Every stored attempt of each wanted key, each one's newest.
SELECT attempts.*
FROM read_parquet($files) AS attempts
SEMI JOIN wanted ON attempts.key = wanted.key
WHERE attempts.finished_at >= $oldest
QUALIFY row_number() OVER (PARTITION BY attempts.key, attempts.attempt ORDER BY attempts.finished_at DESC) = 1
