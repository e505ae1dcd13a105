// A program on QtKeychain, as KMail's resources are. The program stores, reads or deletes one password. It then prints the
// library's error (0 for none) and, in hexadecimal, the password that it has read.
//
//     keychainprogram write|read|delete SERVICE KEY [HEXADECIMAL]

#include <QCoreApplication>
#include <QEventLoop>
#include <iostream>
#include <qt6keychain/keychain.h>

static int run(QKeychain::Job &job, const QStringList &words)
{
    QEventLoop loop;
    job.setAutoDelete(false);
    job.setKey(words[3]);
    QObject::connect(&job, &QKeychain::Job::finished, &loop, &QEventLoop::quit);
    job.start();
    loop.exec();
    return job.error();
}

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    const QStringList words = application.arguments();
    if (words[1] == "write") {
        QKeychain::WritePasswordJob job(words[2]);
        job.setBinaryData(QByteArray::fromHex(words[4].toLatin1()));
        std::cout << run(job, words) << std::endl;
    } else if (words[1] == "read") {
        QKeychain::ReadPasswordJob job(words[2]);
        const int error = run(job, words);
        std::cout << error << " " << job.binaryData().toHex().toStdString() << std::endl;
    } else {
        QKeychain::DeletePasswordJob job(words[2]);
        std::cout << run(job, words) << std::endl;
    }
    return 0;
}
