/** The messages of a thread, shared structurally: what says the same as before is the same object, by which React tells what to draw again. */
import type { Message } from "@ag-ui/core";
import { replaceEqualDeep } from "@tanstack/react-query";

export class MessageList {
  private past: readonly Message[] = [];
  private newest: readonly Message[] = [];
  private all: readonly Message[] = [];

  /** The messages of the past turns and of the newest one, whose lists are other ones when something in them changes. */
  of(past: readonly Message[], newest: readonly Message[]): readonly Message[] {
    if (past === this.past && newest === this.newest) return this.all;
    const count = past.length;
    const before = this.all.slice(0, count);
    const messages = [
      ...(past === this.past ? before : replaceEqualDeep(before, past)),
      ...replaceEqualDeep(this.all.slice(count), newest),
    ];
    this.past = past;
    this.newest = newest;
    const isSame =
      messages.length === this.all.length && messages.every((message, index) => message === this.all[index]);
    if (!isSame) this.all = messages;
    return this.all;
  }
}
