/** The server's facts in the chosen language. */
import { currentLanguage } from "@/i18n";
import type { Reason } from "../searchQueries";

export function reasonText({ message, message_zh }: Pick<Reason, "message" | "message_zh">): string {
  return currentLanguage() === "zh" ? message_zh || message : message;
}
