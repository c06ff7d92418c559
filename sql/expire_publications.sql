-- Publications whose reasons are dropped can't be live again; that they were made stays on record.
UPDATE publications
SET withdrawn_at = coalesce(withdrawn_at, $withdrawn_at)
WHERE publication_id IN (SELECT unnest($publication_ids))
