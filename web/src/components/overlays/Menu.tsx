/** A menu behind a button. */
import { Menu as BaseMenu } from "@base-ui/react/menu";
import type { LucideIcon } from "lucide-react";
import { type ReactElement, useRef } from "react";
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
            <Entries entries={entries} />
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

interface AnchoredMenuProps {
  /** The button that was pressed; focus goes back to it. */
  anchor: HTMLElement;
  entries: readonly MenuEntry[];
  onClose: () => void;
}

/** An open menu at a button: long lists have one menu for all rows, which costs each row nothing. */
export function AnchoredMenu({ anchor, entries, onClose }: AnchoredMenuProps) {
  const isChosen = useRef(false);
  // A dialog that an entry opens takes the focus from the button and returns it there: the menu must not come between.
  const returning = entries.map((entry) => ({
    ...entry,
    onSelect: () => {
      isChosen.current = true;
      anchor.focus();
      entry.onSelect();
    },
  }));
  return (
    <BaseMenu.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <BaseMenu.Portal>
        <BaseMenu.Positioner anchor={anchor} sideOffset={4} align="end" className={styles.positioner}>
          <BaseMenu.Popup
            aria-label={anchor.ariaLabel ?? undefined}
            className={styles.popup}
            finalFocus={() => (isChosen.current ? false : anchor)}
          >
            <Entries entries={returning} />
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

function Entries({ entries }: { entries: readonly MenuEntry[] }) {
  return entries.map(({ label, icon: Icon, onSelect, danger, disabled }) => (
    <BaseMenu.Item
      key={label}
      disabled={disabled}
      onClick={onSelect}
      className={[styles.item, danger && styles.danger].filter(Boolean).join(" ")}
    >
      {Icon && <Icon size={16} aria-hidden />}
      {label}
    </BaseMenu.Item>
  ));
}
