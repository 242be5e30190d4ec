/** What the server says in two languages, in the person's own. */
import { useTranslation } from "react-i18next";

interface Words {
  message?: string;
  message_zh?: string;
  next_action?: string;
  next_action_zh?: string;
}

export function useFailureText(): (words: Words) => { message: string; next: string } {
  const { i18n } = useTranslation();
  const isChinese = i18n.language === "zh";
  return ({ message = "", message_zh, next_action = "", next_action_zh }) => ({
    message: (isChinese && message_zh) || message,
    next: (isChinese && next_action_zh) || next_action,
  });
}
