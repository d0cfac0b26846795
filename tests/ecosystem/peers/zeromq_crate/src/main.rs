//! A socket of the `zeromq` crate for wire.py, which tells the arguments.
use std::error::Error;
use std::io::Read;
use std::time::Duration;
use zeromq::{PullSocket, PushSocket, RepSocket, ReqSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

const MESSAGES: usize = 1000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn body(number: usize) -> Vec<u8> {
    vec![number as u8; 1 + number * 41 % 40000]
}

fn is_right(message: &ZmqMessage, number: usize) -> bool {
    message.len() == 1 && message.get(0).unwrap()[..] == body(number)[..]
}

async fn attached<T: Socket>(how: &str, endpoint: &str) -> Outcome<T> {
    let mut socket = T::new();
    if how == "bind" {
        println!("{}", socket.bind(endpoint).await?);
    } else {
        socket.connect(endpoint).await?;
    }
    Ok(socket)
}

/// Sends, once there is a peer: without one the crate refuses to.
async fn send(socket: &mut impl SocketSend, number: usize) -> Outcome<()> {
    for _ in 0..2000 {
        if socket.send(body(number).into()).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err("nobody to send to".into())
}

async fn talk(role: &str, how: &str, endpoint: &str) -> Outcome<usize> {
    let mut done = 0;
    match role {
        "push" => {
            let mut socket = attached::<PushSocket>(how, endpoint).await?;
            while done < MESSAGES {
                send(&mut socket, done).await?;
                done += 1;
            }
            finish(done);
        }
        "pull" => {
            let mut socket = attached::<PullSocket>(how, endpoint).await?;
            while done < MESSAGES && is_right(&socket.recv().await?, done) {
                done += 1;
            }
            finish(done);
        }
        "req" => {
            let mut socket = attached::<ReqSocket>(how, endpoint).await?;
            while done < MESSAGES {
                send(&mut socket, done).await?;
                if !is_right(&socket.recv().await?, done) {
                    break;
                }
                done += 1;
            }
            finish(done);
        }
        _ => {
            let mut socket = attached::<RepSocket>(how, endpoint).await?;
            while done < MESSAGES {
                let asked = socket.recv().await?;
                let right = is_right(&asked, done);
                socket.send(asked).await?;
                if !right {
                    break;
                }
                done += 1;
            }
            finish(done);
        }
    }
    Ok(done)
}

/// Says what was done, and keeps the socket until the input ends.
fn finish(done: usize) {
    println!("{done}");
    let _ = tokio::task::block_in_place(|| std::io::stdin().read_to_end(&mut Vec::new()));
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let given: Vec<String> = std::env::args().collect();
    talk(&given[1], &given[2], &given[4]).await?;
    Ok(())
}
