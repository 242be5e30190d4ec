/** A menu behind a button. */
import { Menu as BaseMenu } from "@base-ui/react/menu";
import type { LucideIcon } from "lucide-react";
import type { ReactElement } from "react";
import styles from "./Menu.module.css";

export interface MenuEntry {
  label: string;
  icon?: LucideIcon;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}

/** `trigger` is the button that opens it, such as an IconButton. */
export function Menu({ trigger, entries }: { trigger: ReactElement; entries: readonly MenuEntry[] }) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="end" className={styles.positioner}>
          <BaseMenu.Popup className={styles.popup}>
            {entries.map(({ label, icon: Icon, onSelect, danger, disabled }) => (
              <BaseMenu.Item
                key={label}
                disabled={disabled}
                onClick={onSelect}
                className={[styles.item, danger && styles.danger].filter(Boolean).join(" ")}
              >
                {Icon && <Icon size={16} aria-hidden />}
                {label}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}
