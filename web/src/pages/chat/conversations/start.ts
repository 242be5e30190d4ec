/** The start of a conversation, with what was chosen for the last one. */
import { type Choices, NO_CHOICES } from "../composer/choices";
import type { Question } from "./conversation";
import { conversationOf } from "./conversations";
import { createSession } from "./sessions";

const KEY = "agentex.chat.choices";

export function lastChoices(): Choices {
  try {
    return { ...NO_CHOICES, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return NO_CHOICES;
  }
}

export function keepChoices(choices: Choices): void {
  localStorage.setItem(KEY, JSON.stringify(choices));
}

/** Make a session and ask its first question; gives the thread, whose answer streams on by itself. */
export async function startConversation(question: Question, choices: Choices): Promise<string> {
  const { thread_id: threadId } = await createSession(choices);
  void conversationOf(threadId).ask(question);
  return threadId;
}
