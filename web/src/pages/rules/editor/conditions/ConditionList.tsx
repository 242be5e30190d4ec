/** The conditions of a rule or of a group, and how they are joined. */
import { Plus, Trash2 } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { CheckboxField, SelectField } from "@/components/forms/Field";
import { type ConditionGroup, type ConditionNode, isGroup, NEW_CONDITION } from "../definition";
import { ConditionFields } from "./ConditionFields";
import styles from "./conditions.module.css";

/** Groups are nested no deeper. */
const MOST_DEPTH = 5;

interface Props {
  nodes: readonly ConditionNode[];
  /** Paths that events of this type have. */
  paths: readonly string[];
  depth?: number;
  /** The number of the group that these stand in, such as 2.1. */
  place?: string;
  onChange: (nodes: ConditionNode[]) => void;
}

export function ConditionList({ nodes, paths, depth = 0, place = "", onChange }: Props) {
  const { t } = useTranslation("rules");
  const list = useId();
  const replace = (index: number, node: ConditionNode) => onChange(nodes.with(index, node));
  return (
    <div className={styles.list}>
      <datalist id={list}>
        {paths.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      {nodes.map((node, index) => {
        const number = place ? `${place}.${index + 1}` : String(index + 1);
        return (
          <ConditionRow
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no other identity
            key={index}
            number={number}
            node={node}
            isFirst={index === 0}
            onChange={(next) => replace(index, next)}
          >
            {isGroup(node) ? (
              <GroupFields
                group={node}
                paths={paths}
                depth={depth + 1}
                number={number}
                onChange={(group) => replace(index, group)}
              />
            ) : (
              <ConditionFields condition={node} paths={list} onChange={(next) => replace(index, next)} />
            )}
            <IconButton
              icon={Trash2}
              size="s"
              label={t(isGroup(node) ? "if.remove_group" : "if.remove", { number })}
              onClick={() => onChange(nodes.filter((_, other) => other !== index))}
            />
          </ConditionRow>
        );
      })}
      <div className={styles.add}>
        <Button size="s" icon={Plus} onClick={() => onChange([...nodes, NEW_CONDITION])}>
          {t("if.add")}
        </Button>
        {depth < MOST_DEPTH && (
          <Button size="s" variant="ghost" icon={Plus} onClick={() => onChange([...nodes, newGroup()])}>
            {t("if.add_group")}
          </Button>
        )}
      </div>
    </div>
  );
}

function newGroup(): ConditionGroup {
  return { conditions: [NEW_CONDITION], logic: "AND", negate: false };
}

interface RowProps {
  number: string;
  node: ConditionNode;
  /** What the first one is joined by does not count. */
  isFirst: boolean;
  onChange: (node: ConditionNode) => void;
  children: React.ReactNode;
}

function ConditionRow({ number, node, isFirst, onChange, children }: RowProps) {
  const { t } = useTranslation("rules");
  return (
    <fieldset className={styles.row}>
      <legend className="visually-hidden">{t(isGroup(node) ? "if.group" : "if.condition", { number })}</legend>
      {!isFirst && (
        <div className={styles.logic}>
          <SelectField
            hidesLabel
            label={t("if.logic")}
            value={node.logic ?? "AND"}
            options={[
              { value: "AND", label: t("if.and") },
              { value: "OR", label: t("if.or") },
            ]}
            onChange={({ target }) => onChange({ ...node, logic: target.value === "OR" ? "OR" : "AND" })}
          />
        </div>
      )}
      {children}
    </fieldset>
  );
}

interface GroupProps {
  group: ConditionGroup;
  paths: readonly string[];
  depth: number;
  number: string;
  onChange: (group: ConditionGroup) => void;
}

function GroupFields({ group, paths, depth, number, onChange }: GroupProps) {
  const { t } = useTranslation("rules");
  return (
    <div className={styles.group}>
      <CheckboxField
        label={t("if.negate")}
        checked={group.negate ?? false}
        onChange={(negate) => onChange({ ...group, negate })}
      />
      <ConditionList
        nodes={group.conditions}
        paths={paths}
        depth={depth}
        place={number}
        onChange={(conditions) => onChange({ ...group, conditions })}
      />
    </div>
  );
}
