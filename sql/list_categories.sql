-- The small categories that the shop sorts its items into: what a rules file may name.
SELECT DISTINCT scate
FROM source.items
WHERE scate IS NOT NULL
