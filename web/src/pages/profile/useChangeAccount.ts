/** Change one's own account. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { accountQuery } from "@/api/account";
import { api, call, type Schemas } from "@/api/client";
import { notify } from "@/components/feedback/toasts";

export function useChangeAccount() {
  const { t } = useTranslation("common");
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["ProfileBody"]) => call(api.PUT("/api/v1/users/me", { body })),
    onSuccess: (account) => {
      queries.setQueryData(accountQuery.queryKey, account);
      notify(t("state.saved"));
    },
  });
}
