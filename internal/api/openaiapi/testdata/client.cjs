// What the official client makes of the endpoint: one line of JSON a step. argv: folder of the package, base URL, then one token that may run and one that may approve.
const [dir, baseURL, run, person] = process.argv.slice(2)
const { OpenAI } = require(dir)

const client = (apiKey) => new OpenAI({ baseURL, apiKey })
const user = (content) => ({ role: "user", content })
const tell = (step, value) => console.log(JSON.stringify({ step, ...value }))

// failure gives the class of the error that f throws.
async function failure(f) {
  try {
    await f()
    return { error: "none" }
  } catch (e) {
    return { error: e.constructor.name, status: e.status, code: e.code, type: e.type, param: e.param, message: e.message }
  }
}

async function main() {
  const c = client(run)
  const ids = []
  for await (const m of c.models.list()) ids.push(m.id)
  tell("models", { ids })
  tell("model", { id: (await c.models.retrieve("desk/report")).id })

  const done = await c.chat.completions.create({ model: "poet", messages: [user("x")], temperature: 0.3, tools: [{ type: "function", function: { name: "f" } }] })
  tell("chat", { text: done.choices[0].message.content, reason: done.choices[0].finish_reason, total: done.usage.total_tokens })

  let text = "", usage = null
  const chunks = await c.chat.completions.create({ model: "pair", messages: [user("x")], stream: true, stream_options: { include_usage: true } })
  for await (const chunk of chunks) {
    text += chunk.choices[0]?.delta?.content ?? ""
    usage = chunk.usage ?? usage
  }
  tell("stream", { text, total: usage.total_tokens })
  const runner = c.chat.completions.stream({ model: "poet", messages: [user("x")] })
  tell("runner", { text: (await runner.finalChatCompletion()).choices[0].message.content })

  const p = client(person)
  const asked = await p.chat.completions.create({ model: "gate", messages: [user("x")] })
  const answered = await p.chat.completions.create({ model: "gate", messages: [user("x"), asked.choices[0].message, user("approve")] })
  tell("wait", { asked: asked.choices[0].message.content, text: answered.choices[0].message.content, same: asked.id === answered.id })

  const ask = (more) => c.chat.completions.create({ model: "poet", messages: [user("x")], ...more })
  tell("unknown model", await failure(() => ask({ model: "none" })))
  tell("bad request", await failure(() => ask({ n: 2 })))
  tell("no token", await failure(() => client("wrong").chat.completions.create({ model: "poet", messages: [user("x")] })))
  tell("not a person", await failure(async () => {
    const q = await ask({ model: "gate" })
    await ask({ model: "gate", messages: [user("x"), q.choices[0].message, user("approve")] })
  }))
  tell("failed run", await failure(() => ask({ model: "broken" })))
  tell("broken stream", await failure(async () => {
    for await (const _ of await ask({ model: "broken-late", stream: true })) { /* nothing of it counts */ }
  }))
  tell("abort", await failure(async () => {
    const stop = new AbortController()
    const chunks = await c.chat.completions.create({ model: "slow", messages: [user("x")], stream: true }, { signal: stop.signal, headers: { "Hocket-Disconnect": "cancel" } })
    for await (const _ of chunks) stop.abort()
    throw new (class StreamEnded extends Error {})()
  }))
}

main().catch((e) => { console.error(e); process.exit(1) })
