/** What an interrupt asks, in the language of the console where the server asks, else as it was written. */
import { useTranslation } from "react-i18next";
import { plainText } from "@/components/plainText";
import { objectOf } from "../message/citations";
import { toolName } from "../message/toolNames";

export interface InterruptFacts {
  reason: string;
  message?: string | undefined;
  /** The tool of the call that waits. */
  tool?: unknown;
  /** Of a skill whose inputs are asked for. */
  skill?: unknown;
  inputs?: readonly string[];
  /** Of an MCP server that asks something itself, with its name and its words. */
  elicitation?: unknown;
}

/** What an interrupt of the stream says of its question. */
export function interruptFacts(interrupt: {
  reason: string;
  message?: string;
  metadata?: unknown;
  responseSchema?: unknown;
}) {
  const { tool, arguments: args, fills, elicitation } = objectOf(interrupt.metadata);
  const inputs = Object.keys(objectOf(objectOf(interrupt.responseSchema).properties));
  const { reason, message } = interrupt;
  return { reason, message, tool, elicitation, ...(fills === "inputs" ? { skill: objectOf(args).name, inputs } : {}) };
}

export function useInterruptQuestion(): (facts: InterruptFacts) => string {
  const { t, i18n } = useTranslation("chat");
  return ({ reason, message = "", tool, skill, inputs = [], elicitation }) => {
    const { server, message: asked } = objectOf(elicitation);
    if (typeof server === "string" && typeof asked === "string") {
      return t("interrupt.server_asks", { server, message: plainText(asked) });
    }
    if (typeof tool !== "string") return message;
    if (reason === "tool_call") {
      const known = toolName(tool);
      return t("interrupt.ask_call", { tool: "key" in known ? t(known.key) : known.name });
    }
    if (tool === "load_skill" && typeof skill === "string" && inputs.length > 0) {
      return t("interrupt.ask_inputs", { skill, inputs: inputs.join(i18n.language.startsWith("zh") ? "、" : ", ") });
    }
    // The agent's own question.
    return message;
  };
}
