/** What the fields of an action are given. */
import type { Action, ActionType } from "../definition";

export interface ActionFieldsProps<Type extends ActionType> {
  action: Extract<Action, { type: Type }>;
  /** The MCP connection or event source that the rule's events come from. */
  sourceId: string | undefined;
  /** Such as {{player.name}}: a template that events of the rule's type fill in. */
  template: string;
  onChange: (action: Extract<Action, { type: Type }>) => void;
}
