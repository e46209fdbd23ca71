// Runs machines in XState, as the tests of internal/chart run them in Rondo. Reads
// one JSON document per line, {config, context, steps: [{at, type, payload} or {at, fire}]},
// and writes one line per document: {steps: [{value, context, status, output,
// timers, effects}]}, the first of them being the start; {error} ends the list.
import { createInterface } from 'node:readline';
import { assign, createActor, createMachine, raise } from 'xstate';

console.warn = () => {}; // standard output is for answers alone

// Rondo's own languages, put in terms of XState.

const coalesce = (a, b) => a ?? b ?? null;

// The expressions in tests are those of Rondo that mean the same in JavaScript.
function guardOf(source) {
  const body = source.replaceAll('==', '===').replaceAll('!===', '!==').replaceAll('payload.', 'payload?.');
  const check = new Function('context', 'event', 'coalesce', `return (${body});`);
  return ({ context, event }) => check(context, seen(event), coalesce);
}

// seen is an event as guards and selectors see it.
function seen(event) {
  const shown = { type: event.type };
  const payload = event.payload ?? event.output;
  if (payload !== undefined) shown.payload = payload;
  if (event.output !== undefined) shown.output = event.output;
  return shown;
}

function select(selector, scope) {
  const keys = selector && typeof selector === 'object' && !Array.isArray(selector) ? Object.keys(selector) : [];
  if (keys.length !== 1) return selector;
  const given = selector[keys[0]];
  switch (keys[0]) {
    case 'const':
      return given;
    case 'path':
      return given.split('.').reduce((value, name) => value?.[name], scope);
    case 'merge':
      return Object.assign({}, ...given.map((part) => select(part, scope) ?? {}));
    case 'pick': {
      const from = select(given.from, scope) ?? {};
      return Object.fromEntries(given.fields.filter((name) => name in from).map((name) => [name, from[name]]));
    }
    case 'json':
      return JSON.stringify(sorted(select(given, scope) ?? null));
  }
  return selector;
}

// sorted puts members in the order of their names, as Rondo writes them.
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}

const list = (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]);

function actionOf(action) {
  switch (action.type) {
    case 'assign':
      return assign(({ context, event }) => {
        const scope = { context, event: seen(event) };
        return Object.fromEntries(Object.entries(action.set).map(([name, s]) => [name, select(s, scope) ?? null]));
      });
    case 'raise':
      return raise(({ context, event }) => {
        const raised = { type: action.event.type };
        const payload = select(action.event.payload, { context, event: seen(event) });
        if (payload !== undefined) raised.payload = payload;
        return raised;
      });
    case 'raiseCaseEvent':
      return ({ context, event }, effects) => {
        const payload = action.payload === undefined ? {} : select(action.payload, { context, event: seen(event) });
        effects.push({ eventType: action.eventType, payload: payload ?? null });
      };
  }
  throw new Error(`unknown action ${action.type}`);
}

const actionsOf = (actions) => list(actions).map(actionOf);

function transitionsOf(transitions) {
  return list(transitions).map((t) => {
    if (typeof t === 'string') return { target: t };
    const { guard, actions, timer, ...rest } = t;
    return { ...rest, actions: actionsOf(actions), ...(guard === undefined ? {} : { guard: guardOf(guard) }) };
  });
}

const mapped = (object, make) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, make(value)]));

function stateOf(config) {
  const state = { ...config };
  for (const name of ['on', 'after']) if (state[name]) state[name] = mapped(state[name], transitionsOf);
  for (const name of ['always', 'onDone']) if (state[name]) state[name] = transitionsOf(state[name]);
  for (const name of ['entry', 'exit']) if (state[name]) state[name] = actionsOf(state[name]);
  if (state.states) state.states = mapped(state.states, stateOf);
  if (state.initial?.actions) state.initial = { ...state.initial, actions: actionsOf(state.initial.actions) };
  if ('output' in config) state.output = ({ context, event }) => select(config.output, { context, event: seen(event) });
  return state;
}

// A machine without an output of its own has, in Rondo, that of its final state.
function machineOf(config, maxIterations) {
  const root = stateOf(config);
  root.output ??= ({ event }) => event.output;
  return createMachine({ ...root, options: { maxIterations } });
}

// One machine at a time: pure steps, with timers kept by hand.
function play({ config, context, steps, maxIterations }) {
  const machine = machineOf({ ...config, context: { ...config.context, ...context } }, maxIterations);
  const timers = new Map();
  const answers = [];
  let snapshot;
  let actions = [];
  // What XState's own transition() makes for every step, made once.
  const self = createActor(machine);
  const scope = {
    self, system: self.system, id: '', sessionId: '',
    defer() {}, logger() {}, stopChild() {}, emit() {},
    actionExecutor: (action) => actions.push(action),
  };
  const record = (next, at) => {
    if (next.status === 'error') throw next.error;
    snapshot = next;
    const effects = [];
    for (const action of actions) {
      if (action.type === 'xstate.cancel') timers.delete(action.params.sendId);
      else if (action.type !== 'xstate.raise') action.exec?.(action.info, effects);
      else if (typeof action.params.delay === 'number') {
        timers.set(action.params.id, { event: action.params.event.type, due: at + action.params.delay });
      }
    }
    actions = [];
    const { value, context, status, output } = next;
    const open = [...timers.values()].sort((a, b) => (a.event < b.event ? -1 : 1));
    answers.push({ value, context, status, output, timers: open, effects });
  };
  try {
    record(machine.getInitialSnapshot(scope), 0);
    for (const step of steps) {
      const event = step.fire ? { type: step.fire } : { type: step.type, payload: step.payload };
      if (step.fire && !timers.delete(step.fire)) throw new Error(`no timer ${step.fire}`);
      record(snapshot.status === 'active' ? machine.transition(snapshot, event, scope) : snapshot, step.at);
    }
  } catch (error) {
    answers.push({ error: String(error.message ?? error).split('\n')[0] });
  }
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { steps: play(JSON.parse(line)) };
  } catch (error) {
    answer = { steps: [{ error: String(error.message ?? error) }] };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
