/** The registry of actions' fields: one line for each type. */
import type { ComponentType } from "react";
import type { ActionType } from "../definition";
import { AgentRunFields } from "./AgentRunFields";
import type { ActionFieldsProps } from "./fields";
import { IngestFields } from "./IngestFields";
import { McpCallFields } from "./McpCallFields";
import { NotifyFields } from "./NotifyFields";
import { SearchFields } from "./SearchFields";
import { StateFields } from "./StateFields";
import { WebhookFields } from "./WebhookFields";

export const ACTION_FIELDS: { readonly [Type in ActionType]: ComponentType<ActionFieldsProps<Type>> } = {
  notify: NotifyFields,
  agent_run: AgentRunFields,
  mcp_call: McpCallFields,
  search: SearchFields,
  ingest: IngestFields,
  webhook: WebhookFields,
  set_state: StateFields,
};
