/** What the server says in two languages, in the person's. */
import { currentLanguage } from ".";

/** The Chinese, where it is preferred and there is any; `T` is a text, or a list of them. */
export function inLanguage<T extends string | readonly string[]>(english: T, chinese: T | null | undefined): T {
  return currentLanguage() === "zh" && chinese?.length ? chinese : english;
}
