function e(e,t){if(t.length===1&&/^[\x00-\x7f]*$/.test(e))return t=>Math.min(t,e.length);let r=[],i=[],a=0,o=0;for(let n=0;n<e.length;){if(r.push(a),i.push(o),t.length>1&&e.startsWith(t,n)){n+=t.length,a+=t.length,o+=1;continue}let s=e.codePointAt(n)??0,c=s>65535?2:1;n+=c,o+=c,a+=s<128?1:s<2048?2:s<65536?3:4}return r.push(a),i.push(o),e=>i[n(r,e)]??0}function t(e){let t=e.match(/\r\n|\r|\n/g);return t?.length&&t.every(e=>e===`\r
`)?`\r
`:`
`}function n(e,t){let[n,r]=[0,e.length-1];for(;n<r;){let i=Math.ceil((n+r)/2);(e[i]??0)<=t?n=i:r=i-1}return n}export{t as n,e as t};