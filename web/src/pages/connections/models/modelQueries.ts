/** Queries of language models. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";

export type Model = Schemas["ModelAnswer"];
export type RegisteredModel = Schemas["ModelConfigAnswer"];

export const registeredModelsQuery = queryOptions({
  queryKey: ["models", "registered"],
  queryFn: async () => (await call(api.GET("/api/v1/admin/models"))).items,
});

export const providersQuery = queryOptions({
  queryKey: ["model-providers"],
  queryFn: async () => (await call(api.GET("/api/v1/admin/model-providers"))).items,
  staleTime: Number.POSITIVE_INFINITY,
});

export function testModel(id: string) {
  return call(api.POST("/api/v1/models/{model_id}/test", { params: { path: { model_id: id } } }));
}

/** Ask for the first word of a model that need not be stored; `id` names the one that is edited. */
export function testModelDraft(id: string | null, body: Schemas["ModelBody"]) {
  return call(api.POST("/api/v1/admin/models/test", { body: { ...body, registered_id: id } }));
}

export function saveModel(id: string | null, body: Schemas["ModelBody"]): Promise<RegisteredModel> {
  return id === null
    ? call(api.POST("/api/v1/admin/models", { body }))
    : call(api.PUT("/api/v1/admin/models/{model_id}", { params: { path: { model_id: id } }, body }));
}

export function useInvalidateModels(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["models"] });
}

/** Change single fields of a model. */
export function useChangeModel() {
  const invalidate = useInvalidateModels();
  return useMutation({
    mutationFn: ({ id, ...body }: Schemas["ModelChangeBody"] & { id: string }) =>
      call(api.PUT("/api/v1/admin/models/{model_id}", { params: { path: { model_id: id } }, body })),
    onSettled: invalidate,
  });
}
