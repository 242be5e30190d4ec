var e=class{rest=``;feed(e){let n=(this.rest+e).replace(/\r\n/g,`
`).split(`

`);return this.rest=n.pop()??``,n.map(t).filter(e=>e!==null)}};function t(e){let t=`message`,n=[];for(let r of e.split(`
`))r.startsWith(`event:`)&&(t=r.slice(6).trim()),r.startsWith(`data:`)&&n.push(r.slice(5).replace(/^ /,``));return n.length?{name:t,data:n.join(`
`)}:null}async function*n(t){let n=t.getReader(),r=new TextDecoder,i=new e;try{for(let e=await n.read();!e.done;e=await n.read())yield*i.feed(r.decode(e.value,{stream:!0}))}finally{n.releaseLock()}}export{n as t};