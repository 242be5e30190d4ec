/** What can be done with a question that was asked: a context, so that no answer is drawn again when that changes. */
import { createContext, useContext } from "react";
import type { BranchPoint } from "../conversations/branches";
import type { Direction } from "../conversations/branchPlace";

export type Alternative = BranchPoint["alternatives"][number];

export interface BranchActions {
  /** Ask this in place of a question, in a new branch. */
  branch: (messageId: string, text: string) => Promise<void>;
  /** Go to another branch, from an element whose place on the screen is kept. */
  go: (alternative: Alternative, direction: Direction, from: Element) => Promise<void>;
}

export interface QuestionActions extends BranchActions {
  mayAsk: boolean;
  /** Write a question into the composer, to be sent or changed. */
  draft: (text: string) => void;
  points: ReadonlyMap<string, readonly Alternative[]>;
}

const Context = createContext<QuestionActions | null>(null);

export const QuestionActionsProvider = Context.Provider;

export function useQuestionActions(): QuestionActions | null {
  return useContext(Context);
}
