/** What the server says in two languages, in the person's; older entries have English alone. */
import { currentLanguage } from "@/i18n";

export function inLanguage<T extends string | readonly string[]>(english: T, chinese: T | null | undefined): T {
  return currentLanguage() === "zh" && chinese?.length ? chinese : english;
}
