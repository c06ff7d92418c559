-- Drop the reasons of some publications.
DELETE FROM published_reasons
WHERE publication_id IN (SELECT unnest($publication_ids))
