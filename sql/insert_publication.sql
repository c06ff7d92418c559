-- A new publication, which takes the place of its date's live one.
INSERT INTO publications
SELECT
    coalesce(max(publication_id), 0) + 1 AS publication_id,
    $ds AS ds,
    $run_key AS run_key,
    $content_hash AS content_hash,
    $reason_count AS reason_count,
    $gate AS gate,
    $approved_by AS approved_by,
    $approval_reason AS approval_reason,
    $published_at AS published_at,
    NULL AS withdrawn_at
FROM publications
RETURNING publication_id
