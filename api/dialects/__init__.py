"""The protocol dialects: each module translates one document's shapes, and only translates."""
