-- Take a publication back: the one before it, if there is one, is live again.
UPDATE publications
SET withdrawn_at = $withdrawn_at
WHERE publication_id = $publication_id
