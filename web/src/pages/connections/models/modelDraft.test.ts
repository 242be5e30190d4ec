import { describe, expect, it } from "vitest";
import { bodyOf, draftOf, NEW_MODEL, parseObject } from "./modelDraft";

type Registered = Parameters<typeof draftOf>[0];

const REGISTERED: Registered = {
  id: "1",
  type: "chat",
  name: "Fast",
  provider: "ollama",
  model_id: "qwen3:8b",
  max_tokens: 100,
  temperature: 0.2,
  context_window: 8192,
  tools: true,
  vision: false,
  tools_refused_until: null,
  dimension: null,
  languages: null,
  input_price: 1.5,
  output_price: null,
  is_default: true,
  enabled: false,
  built_in: false,
  base_url: null,
  has_secret: true,
  options: { context_window: 8192, vision: false, attempts: 2 },
  role_access: ["r"],
  user_access: ["u"],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};

describe("the draft of a model", () => {
  it("takes the model's id for a name that is left out", () => {
    expect(bodyOf({ ...NEW_MODEL, modelId: " gpt-4o " }, null).name).toBe("gpt-4o");
  });

  it("sends no empty key", () => {
    expect(bodyOf(NEW_MODEL, null)).not.toHaveProperty("api_key");
  });

  it("sends what it was made of", () => {
    const body = bodyOf(draftOf(REGISTERED), REGISTERED);
    expect(body).toMatchObject({ enabled: false, is_default: true, input_price: 1.5, output_price: null });
    expect(body.options).toEqual({ context_window: 8192, vision: false, attempts: 2 });
    expect([body.role_access, body.user_access]).toEqual([["r"], ["u"]]);
  });

  it("opens a model to everybody", () => {
    const body = bodyOf({ ...draftOf(REGISTERED), roles: null }, REGISTERED);
    expect([body.role_access, body.user_access]).toEqual([null, null]);
  });
});

describe("an object as JSON", () => {
  it("is empty without text", () => expect(parseObject("  ")).toEqual({}));
  it("is no list, no word and no broken text", () => {
    expect([parseObject("[]"), parseObject("null"), parseObject("{a}")]).toEqual([undefined, undefined, undefined]);
  });
});
