/** An account in the list, with what can be done about it. */
import { Ban, KeyRound, LockKeyhole, MailCheck, MoreHorizontal, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAccount } from "@/api/account";
import { api, call, type Schemas } from "@/api/client";
import { IconButton } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { notify } from "@/components/feedback/toasts";
import { Item } from "@/components/layout/ItemList";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Menu } from "@/components/overlays/Menu";
import { formatDateTime, formatRelative } from "@/i18n/format";
import { DeleteUserForm } from "./DeleteUserForm";
import { ResetPasswordForm } from "./ResetPasswordForm";
import { useRoleName } from "./roleNames";
import { UserKeys } from "./UserKeys";
import { UserRoleForm } from "./UserRoleForm";
import { type User, useInvalidateUsers } from "./userQueries";

type Open = "role" | "password" | "keys" | "status" | "email" | "delete" | null;

export function UserItem({ user }: { user: User }) {
  const { t } = useTranslation(["admin", "common"]);
  const roleName = useRoleName();
  const isMe = useAccount()?.id === user.id;
  const [open, setOpen] = useState<Open>(null);
  const invalidate = useInvalidateUsers();
  const isActive = user.status === "active";
  const close = () => setOpen(null);
  const toggle = () => change({ status: isActive ? ("disabled" as const) : ("active" as const) });
  async function change(body: Schemas["UserChangeBody"]) {
    await call(api.PUT("/api/v1/admin/users/{user_id}", { params: { path: { user_id: user.id } }, body }));
    notify(t("common:state.saved"));
    await invalidate();
  }
  return (
    <Item
      title={user.username}
      badges={
        <>
          <Badge tone={user.role.name === "admin" ? "accent" : "neutral"}>{roleName(user.role)}</Badge>
          {!isActive && <Badge tone="warning">{t("user.disabled")}</Badge>}
          {isMe && <Badge tone="info">{t("user.you")}</Badge>}
        </>
      }
      facts={[
        [t("user.email"), user.email_verified ? user.email : t("user.unverified", { email: user.email })],
        [t("user.last_login"), user.last_login_at ? formatRelative(user.last_login_at) : t("user.never")],
        [t("user.since"), formatDateTime(user.created_at)],
      ]}
      actions={
        <Menu
          trigger={<IconButton icon={MoreHorizontal} label={t("user.actions", { name: user.username })} />}
          entries={[
            { label: t("user.change_role"), icon: Pencil, onSelect: () => setOpen("role") },
            { label: t("user.reset_password"), icon: LockKeyhole, onSelect: () => setOpen("password") },
            { label: t("user.keys"), icon: KeyRound, onSelect: () => setOpen("keys") },
            {
              label: t(user.email_verified ? "user.unverify" : "user.verify"),
              icon: MailCheck,
              onSelect: () => setOpen("email"),
            },
            ...(isMe
              ? []
              : [
                  {
                    label: t(isActive ? "user.disable" : "user.enable"),
                    icon: isActive ? Ban : RotateCcw,
                    onSelect: () => setOpen("status"),
                  },
                  { label: t("common:action.delete"), icon: Trash2, danger: true, onSelect: () => setOpen("delete") },
                ]),
          ]}
        />
      }
    >
      {open === "role" && <UserRoleForm user={user} onClose={close} />}
      {open === "password" && <ResetPasswordForm user={user} onClose={close} />}
      {open === "keys" && <UserKeys user={user} onClose={close} />}
      {open === "delete" && <DeleteUserForm user={user} onClose={close} />}
      <ConfirmDialog
        open={open === "status"}
        onClose={close}
        title={t(isActive ? "user.disable_title" : "user.enable_title", { name: user.username })}
        description={t(isActive ? "user.disable_text" : "user.enable_text")}
        action={t(isActive ? "user.disable" : "user.enable")}
        onConfirm={toggle}
      />
      <ConfirmDialog
        open={open === "email"}
        onClose={close}
        title={t(user.email_verified ? "user.unverify_title" : "user.verify_title", { email: user.email })}
        description={t("user.verify_text", { name: user.username })}
        action={t(user.email_verified ? "user.unverify" : "user.verify")}
        onConfirm={() => change({ email_verified: !user.email_verified })}
      />
    </Item>
  );
}
