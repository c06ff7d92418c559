-- The reasons of one publication, from the frame new_reasons.
INSERT INTO published_reasons
SELECT
    $publication_id AS publication_id,
    recommended_item_id,
    reason_item_id,
    text,
    p_skip,
    model,
    prompt,
    generated_at
FROM new_reasons
