-- A new publication, which takes the place of its date's live one.
INSERT INTO publications
SELECT
    coalesce(max(publication_id), 0) + 1,
    $ds,
    $run_key,
    $content,
    $reason_count,
    $gate,
    $approved_by,
    $approval_reason,
    $published_at,
    NULL
FROM publications
RETURNING publication_id
