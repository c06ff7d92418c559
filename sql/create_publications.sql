-- What was published when, by which run, with which verdict of the gate, and on whose approval.
-- The newest publication of a date that was not withdrawn is the live one.
CREATE TABLE IF NOT EXISTS publications (
    publication_id BIGINT PRIMARY KEY,
    ds DATE NOT NULL,
    run_key VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    reason_count BIGINT NOT NULL,
    gate VARCHAR NOT NULL,
    approved_by VARCHAR,
    approval_reason VARCHAR,
    published_at TIMESTAMPTZ NOT NULL,
    withdrawn_at TIMESTAMPTZ
)
