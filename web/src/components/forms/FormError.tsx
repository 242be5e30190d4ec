/** An error of what was typed, with what the server says of the field. */
import { ApiError } from "@/api/errors";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";

export function FormError({ error }: { error: unknown }) {
  if (!(error instanceof ApiError) || typeof error.details.error !== "string") return <ErrorNotice error={error} />;
  const { message, code, details, requestId } = error;
  return (
    <ErrorNotice
      error={new ApiError(message, code, { reason: details.error, reason_zh: details.error_zh }, requestId)}
    />
  );
}
