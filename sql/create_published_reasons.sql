-- The reasons of every publication, the older ones kept for rollback. Readers use the view reasons.
CREATE TABLE IF NOT EXISTS published_reasons (
    publication_id BIGINT NOT NULL,
    recommended_item_id BIGINT NOT NULL,
    reason_item_id BIGINT NOT NULL,
    text VARCHAR NOT NULL,
    p_skip DOUBLE NOT NULL,
    model VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL,
    generated_at TIMESTAMPTZ NOT NULL
)
