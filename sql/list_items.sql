-- The names of everything the shop sells: a text must name none of them but its own two.
SELECT DISTINCT item_name
FROM source.items
WHERE item_name IS NOT NULL
