/** Queries of saved questions and their measurements. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, call, type Schemas } from "@/api/client";

export type SavedQuestion = Schemas["QuestionAnswer"];
export type Evaluation = Schemas["EvaluationAnswer"];
export type WholeEvaluation = Schemas["WholeEvaluationAnswer"];
export type QuestionResult = Schemas["QuestionResultAnswer"];
export type Comparison = Schemas["ComparisonAnswer"];

export const FIGURES = ["recall_1", "recall_5", "recall_10", "mrr_10", "ndcg_10"] as const;
export type Figure = (typeof FIGURES)[number];

const PAGE_SIZE = 20;
/** More are not kept. */
const MOST_EVALUATIONS = 100;

export function useQuestions(kbId: string, page: number) {
  return useQuery({
    queryKey: ["questions", kbId, page],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/questions", {
          params: { path: { kb_id: kbId }, query: { page, page_size: PAGE_SIZE } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

export function useEvaluations(kbId: string) {
  return useQuery({
    queryKey: ["evaluations", kbId],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/evaluations", {
          params: {
            path: { kb_id: kbId },
            query: { page: 1, page_size: MOST_EVALUATIONS, sort_by: "created_at", sort_order: "desc" },
          },
          signal,
        }),
      ),
  });
}

export function useEvaluation(kbId: string, evaluationId: string) {
  return useQuery({
    queryKey: ["evaluation", kbId, evaluationId],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}", {
          params: { path: { kb_id: kbId, evaluation_id: evaluationId } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useComparison(kbId: string, evaluationId: string, earlierId: string | undefined) {
  return useQuery({
    queryKey: ["evaluation", kbId, evaluationId, "compared", earlierId],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/knowledge-bases/{kb_id}/evaluations/{evaluation_id}/compare", {
          params: { path: { kb_id: kbId, evaluation_id: evaluationId }, query: { with: earlierId ?? "" } },
          signal,
        }),
      ),
    enabled: Boolean(earlierId),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
