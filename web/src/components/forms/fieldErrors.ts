/** What the server says of a field of a form that was sent. */
import { createContext, type ReactNode, useContext } from "react";

export interface FieldError {
  /** The path in the request: `settings.url`. */
  field: string;
  reason: string;
}

export const FieldErrorContext = createContext<FieldError | null>(null);

/** The error of a field: that of the form itself, else what the server said of the field or of a part of it. */
export function useFieldError(name: string | undefined, own: ReactNode): ReactNode {
  const refused = useContext(FieldErrorContext);
  if (own || !name || !refused) return own;
  return refused.field === name || refused.field.startsWith(`${name}.`) ? refused.reason : own;
}
