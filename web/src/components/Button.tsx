/** Buttons, and links that look like them. */
import { createLink, type LinkComponent } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import { type ComponentProps, forwardRef, type ReactNode } from "react";
import styles from "./Button.module.css";

interface Look {
  variant?: "primary" | "secondary" | "ghost" | "danger";
  size?: "s" | "m";
  icon?: LucideIcon;
}

function classes({ variant = "secondary", size = "m" }: Look, extra?: string): string {
  return [styles.button, styles[variant], size === "s" && styles.small, extra].filter(Boolean).join(" ");
}

function Content({ icon: Icon, children }: { icon?: LucideIcon | undefined; children?: ReactNode }) {
  return (
    <>
      {Icon && <Icon size={16} aria-hidden />}
      {children}
    </>
  );
}

export interface ButtonProps extends ComponentProps<"button">, Look {
  /** Whether what it does is under way: it can't be pressed again, and says so. */
  busy?: boolean;
}

export const Button = forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { variant, size, icon, busy, className, children, disabled, type = "button", ...rest },
  ref,
) {
  return (
    <button
      {...rest}
      ref={ref}
      type={type}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={classes({ variant, size }, className)}
    >
      <Content icon={icon}>{children}</Content>
    </button>
  );
});

/** A button that shows its icon alone; `label` is what screen readers and tooltips say. */
export const IconButton = forwardRef<
  HTMLButtonElement,
  Omit<ButtonProps, "children" | "icon"> & { icon: LucideIcon; label: string }
>(function IconButton(
  { icon: Icon, label, variant = "ghost", size, busy, className, disabled, type = "button", ...rest },
  ref,
) {
  return (
    <button
      {...rest}
      ref={ref}
      type={type}
      disabled={disabled || busy}
      aria-label={label}
      title={label}
      className={classes({ variant, size }, [styles.square, className].filter(Boolean).join(" "))}
    >
      <Icon size={size === "s" ? 15 : 18} aria-hidden />
    </button>
  );
});

const Anchor = forwardRef<HTMLAnchorElement, ComponentProps<"a"> & Look>(function Anchor(
  { variant, size, icon, className, children, ...rest },
  ref,
) {
  return (
    <a {...rest} ref={ref} className={classes({ variant, size }, className)}>
      <Content icon={icon}>{children}</Content>
    </a>
  );
});

/** A link to a page of the console that looks like a button. */
export const LinkButton: LinkComponent<typeof Anchor> = createLink(Anchor);
