/** Errors of the API, with what a person needs to report them. */

export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    message: string,
    /** The server's code, such as 40401; 0 when it could not be reached. */
    readonly code: number,
    readonly details: Record<string, unknown> = {},
    readonly requestId: string | null = null,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(message);
  }

  static of(response: Response, body: unknown): ApiError {
    const { message, code, details } = (body ?? {}) as { message?: string; code?: number; details?: object };
    return new ApiError(
      message ?? response.statusText ?? String(response.status),
      typeof code === "number" ? code : response.status * 100,
      { ...details },
      response.headers.get("X-Request-ID"),
      Number(response.headers.get("Retry-After")) || null,
    );
  }

  get status(): number {
    return Math.floor(this.code / 100);
  }

  /** What an operator looks for in the log. */
  get shownCode(): string {
    return String(this.code);
  }
}

/** What ended a run; the stream of its events says a name instead of a number. */
export class RunFailure extends ApiError {
  override name = "RunFailure";

  constructor(
    message: string,
    /** Such as `LLM_ERROR`. */
    readonly runCode: string,
    requestId: string | null,
  ) {
    super(message, 50_000, {}, requestId);
  }

  override get shownCode(): string {
    return this.runCode || super.shownCode;
  }
}

export function unreachable(cause: unknown): ApiError {
  const error = new ApiError("", 0);
  error.cause = cause;
  return error;
}
