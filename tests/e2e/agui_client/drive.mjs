// Drives the stock AG-UI client as a plan on stdin says, and writes what it saw to stdout as JSON.
//
// Plan: { url, runs_url, token, threadId, state?, messages?, binary?, runs: [{ runId, question?, props?, stopAt?,
//         abortAt?, resume?, answer?, tools?, connect? }] }
// `resume` is the payload for every pending interrupt (or "cancelled"), `answer` the result of every
// pending frontend call; `connect` runs a new agent, which has nothing, against that url.
// The runs follow one another on one agent, which sends its whole history each time. At the first
// event of the type `stopAt` the run's stop endpoint is called; `abortAt` closes the connection.
// With `binary` the client asks for protobuf. In any case the log of a run that is over is read
// once more as protobuf, through the client's own parser.
// Result: { runs: [{ events, error, stopped, logged }], messages, state, warnings }
import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

// The client tells what it drops, strips or mends nowhere but here.
const warnings = [];
console.warn = (...parts) => warnings.push(parts.map(String).join(" "));
// It prints failures that it also reports; stdout and stderr belong to the result.
console.error = () => {};

const { HttpAgent, runHttpRequest, transformHttpEventStream } = await import("@ag-ui/client");
const { AGUI_MEDIA_TYPE } = await import("@ag-ui/proto");
const { lastValueFrom, toArray } = await import("rxjs");
const plan = JSON.parse(await text(process.stdin));
const headers = plan.token ? { Authorization: `Bearer ${plan.token}` } : {};

class Agent extends HttpAgent {
  requestInit(input) {
    const init = super.requestInit(input);
    if (plan.binary) init.headers.Accept = AGUI_MEDIA_TYPE;
    return init;
  }
}

let agent = new Agent({
  url: plan.url,
  threadId: plan.threadId,
  headers,
  initialState: plan.state ?? {},
  initialMessages: plan.messages ?? [],
});

async function stop(runId) {
  const url = `${plan.runs_url}/${encodeURIComponent(runId)}/stop`;
  const started = performance.now();
  const answer = await fetch(url, { method: "POST", headers });
  return { status: answer.status, body: await answer.json(), ms: performance.now() - started };
}

function logged(runId) {
  const url = `${plan.runs_url}/${encodeURIComponent(runId)}/events`;
  const asked = { headers: { ...headers, Accept: AGUI_MEDIA_TYPE } };
  const events = transformHttpEventStream(runHttpRequest(() => fetch(url, asked)));
  return lastValueFrom(events.pipe(toArray()));
}

function answers(payload) {
  const status = payload === "cancelled" ? "cancelled" : "resolved";
  const said = status === "resolved" ? { payload } : {};
  return agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status, ...said }));
}

function pendingCalls() {
  const answered = new Set(agent.messages.map((message) => message.toolCallId));
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  return calls.filter(({ id }) => !answered.has(id));
}

async function perform(step) {
  if (step.connect) {
    agent = new Agent({ url: step.connect, threadId: plan.threadId, headers });
  }
  if (step.answer) {
    for (const { id } of pendingCalls()) {
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: id, content: step.answer });
    }
  }
  if (step.question) {
    agent.addMessage({ id: randomUUID(), role: "user", content: step.question });
  }
  const events = [];
  let stopping = null;
  const subscriber = {
    onEvent({ event }) {
      events.push(event);
      if (event.type === step.stopAt) stopping ??= stop(step.runId);
      if (event.type === step.abortAt) agent.abortRun();
    },
  };
  let error = null;
  try {
    const input = { runId: step.runId, forwardedProps: step.props ?? {}, tools: step.tools ?? [] };
    if (step.resume) input.resume = answers(step.resume);
    await agent.runAgent(input, subscriber);
    const last = events.at(-1)?.type;
    if (last !== "RUN_FINISHED" && last !== "RUN_ERROR") {
      error = { name: "NoTerminalEvent", message: `the stream ended after ${last}` };
    }
  } catch (raised) {
    const { name, message, status = null, payload = null } = raised;
    error = { name, message, status, payload };
  }
  const isLogged = error === null && !step.abortAt && !step.connect;
  return {
    events,
    error,
    stopped: await stopping,
    logged: isLogged ? await logged(step.runId) : null,
  };
}

const runs = [];
for (const step of plan.runs) runs.push(await perform(step));
const { messages, state, pendingInterrupts } = agent;
const result = { runs, messages, state, pendingInterrupts, warnings };
process.stdout.write(JSON.stringify(result));
