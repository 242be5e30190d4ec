/** Which citations a number in a text can mean, and opening one beside the answer. */
import { createContext, useContext } from "react";
import type { Citation } from "../message/citations";

export interface Sources {
  /** The message whose text it is. */
  messageId: string;
  citations: readonly Citation[];
  /** Whether the answer has been checked: before, a number without a source may still get one. */
  checked: boolean;
  open: (messageId: string, number: number) => void;
  opened: { messageId: string; number: number } | null;
}

const Context = createContext<Sources | null>(null);

export const SourcesProvider = Context.Provider;

export function useSources(): Sources | null {
  return useContext(Context);
}
