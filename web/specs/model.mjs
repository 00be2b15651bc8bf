// This module is a fake model server that implements Chat Completions: it replies with what the
// spec specifies, when the spec allows it, and records the requests.
import {writeFileSync} from 'node:fs'
import {createServer} from 'node:http'
import {join} from 'node:path'

const systemOf = asked =>
  asked.messages
    .filter(m => m.role === 'system' || m.role === 'developer')
    .map(m => (typeof m.content === 'string' ? m.content : m.content.map(p => p.text).join('')))
    .join('\n')

// chunks returns the messages of a streamed response.
function chunks(asked, {text = '', tool}, n) {
  const one = (choices, usage = null) => ({
    id: `c${n}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: asked.model,
    choices,
    usage,
  })
  const delta = (d, finish = null) => one([{index: 0, delta: d, finish_reason: finish}])
  const call = tool && {
    index: 0,
    id: `t${n}`,
    type: 'function',
    function: {name: tool.name, arguments: JSON.stringify(tool.arguments)},
  }
  return [
    delta({role: 'assistant', content: ''}),
    ...(text.match(new RegExp(`[\\s\\S]{1,${Math.max(8, Math.ceil(text.length / 20))}}`, 'gu')) ?? []).map(content =>
      delta({content}),
    ),
    ...(call ? [delta({tool_calls: [call]})] : []),
    delta({}, call ? 'tool_calls' : 'stop'),
    one([], {prompt_tokens: 10, completion_tokens: 5, total_tokens: 15}),
  ]
}

// model starts a model server. answer maps the system prompt and the number of a call to {text},
// {tool: {name, arguments}} or {status, error}. If held is set, calls wait until release is called.
// model writes the configuration that routes all model calls of the store in the folder home to the
// server.
export async function model({home, held = false}, answer) {
  const asked = []
  const waiting = new Set()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const call = JSON.parse(body)
    const system = systemOf(call)
    asked.push(system)
    const n = asked.length
    if (held)
      await new Promise(go => {
        waiting.add(go)
        response.on('close', () => waiting.delete(go)) // the client has disconnected
      })
    const said = answer(system, n)
    if (said.status) {
      response
        .writeHead(said.status, {'Content-Type': 'application/json'})
        .end(JSON.stringify({error: {message: said.error}}))
      return
    }
    response.writeHead(200, {'Content-Type': 'text/event-stream'})
    for (const c of chunks(call, said, n)) response.write(`data: ${JSON.stringify(c)}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  writeFileSync(join(home, 'key'), 'none-is-needed', {mode: 0o600})
  const url = `http://127.0.0.1:${server.address().port}/v1`
  writeFileSync(
    join(home, 'hocket.yaml'),
    `providers: {openai: {base_url: '${url}', key: 'file:key'}}\nlimits: {modelTimeout: 1h, modelIdleTimeout: 1h}\n`,
    {
      mode: 0o600,
    },
  )
  return {
    asked,
    get held() {
      return waiting.size
    },
    // release answers the call that has waited longest.
    release: () => {
      const [go] = waiting
      waiting.delete(go)
      go()
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
