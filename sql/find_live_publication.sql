-- The live publication of a date.
SELECT *
FROM publications
WHERE ds = $ds AND withdrawn_at IS NULL
ORDER BY publication_id DESC
LIMIT 1
