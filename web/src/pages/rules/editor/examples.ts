/** Rules worth beginning with. */
import type { Language } from "@/i18n";
import { type Definition, NEW_ACTIONS, NEW_DEFINITION } from "./definition";
import { PRESETS } from "./schedules";

type Example = (words: (english: string, chinese: string) => string) => Definition;

const EXAMPLES = {
  document_failed: (words) => ({
    ...NEW_DEFINITION,
    name: words("Failed documents", "文档处理失败"),
    trigger_config: { event_type: "document.failed" },
    actions: [
      {
        ...NEW_ACTIONS.notify,
        params: {
          title: words("{{document.name}} failed", "{{document.name}} 处理失败"),
          text: words("Reason: {{document.reason}}", "原因：{{document.reason}}"),
          level: "error",
        },
      },
    ],
  }),
  run_failed: (words) => ({
    ...NEW_DEFINITION,
    name: words("Failed runs", "运行失败"),
    trigger_config: { event_type: "run.failed" },
    actions: [
      {
        ...NEW_ACTIONS.notify,
        params: {
          title: words("A run failed", "运行失败"),
          text: words("In the conversation “{{run.title}}”", "所在对话：{{run.title}}"),
          level: "warning",
        },
      },
    ],
    cooldown: 60_000,
  }),
  quota_near: (words) => ({
    ...NEW_DEFINITION,
    name: words("Quota", "配额"),
    trigger_config: { event_type: "quota.near" },
    actions: [
      {
        ...NEW_ACTIONS.notify,
        params: {
          title: words("The quota is nearly used up", "配额即将用尽"),
          text: words("Delete documents, or ask an administrator for more.", "请删除文档，或联系管理员增加配额。"),
          level: "warning",
        },
      },
    ],
    cooldown: 86_400_000,
  }),
  weekly_report: (words) => ({
    ...NEW_DEFINITION,
    name: words("Weekly report", "周报"),
    trigger_config: {
      event_type: "schedule",
      schedule: {
        cron: PRESETS.weekly,
        timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        catch_up_minutes: 120,
      },
    },
    actions: [
      {
        ...NEW_ACTIONS.agent_run,
        params: {
          prompt: words("Summarise what is new in ten lines.", "用十行总结新内容。"),
          knowledge_base_ids: [],
          skill_ids: [],
        },
      },
      {
        ...NEW_ACTIONS.notify,
        params: {
          title: words("Weekly report", "周报"),
          text: "{{results[0].answer | truncate:4000}}",
          level: "info",
        },
      },
    ],
  }),
  low_health: (words) => ({
    ...NEW_DEFINITION,
    name: words("Low health", "低血量警告"),
    trigger_config: { event_type: "player_damage" },
    conditions: [{ field: "player.health_percent", operator: "<", value: 20 as never, logic: "AND" }],
    actions: [
      {
        ...NEW_ACTIONS.mcp_call,
        target: "chat_send_player",
        params: {
          playerName: "{{player.name}}" as never,
          message: words("Your health is below 20 %!", "警告：你的血量低于 20%！") as never,
        },
      },
    ],
    cooldown: 10_000,
    cooldown_key: "{{player.name}}",
  }),
  incident: (words) => ({
    ...NEW_DEFINITION,
    name: words("Keep incidents", "保存故障"),
    trigger_config: { event_type: "incident" },
    conditions: [{ field: "severity", operator: "in", value: ["high", "critical"] as never, logic: "AND" }],
    actions: [
      {
        ...NEW_ACTIONS.ingest,
        params: {
          knowledge_base_id: "",
          name: words("Incident {{id}}.md", "故障 {{id}}.md"),
          text: "# {{title}}\n\n{{description}}",
        },
      },
    ],
  }),
} as const satisfies { readonly [name: string]: Example };

export type ExampleName = keyof typeof EXAMPLES;
export const EXAMPLE_NAMES = Object.keys(EXAMPLES) as ExampleName[];

/** An example in a language; undefined where there is none of that name. */
export function exampleOf(name: string | undefined, language: Language): Definition | undefined {
  const example: Example | undefined = EXAMPLE_NAMES.includes(name as ExampleName)
    ? EXAMPLES[name as ExampleName]
    : undefined;
  return example?.((english, chinese) => (language === "zh" ? chinese : english));
}
